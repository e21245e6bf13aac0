"""After-sales desk of an online shop: refund estimates and price protection claims.

Five orders are written by hand, the rest is generated under a fixed seed. All money is kept in fen
(1/100 yuan), so that no amount depends on floating point.
"""

import datetime as dt
from random import Random
from typing import NamedTuple

PICKUP_FEE = 900
OPENED_PERCENT = {"未拆封": 0, "已拆封未使用": 4, "已使用": 18}
SELLER_FAULT_VOUCHERS = {  # paid on top of the refund where the seller is to blame
    "质量问题": 0,
    "收到商品破损": 500,
    "少件漏发": 300,
    "发错货": 800,
    "描述不符": 600,
    "未按约定时间发货": 1000,
}
PROTECTED_DAYS = {"普通会员": 7, "银卡会员": 15, "黑金会员": 30}


class _Item(NamedTuple):
    name: str
    unit_price: int
    quantity: int
    price_changes: tuple[tuple[str, int], ...] = ()  # (first day, new unit price)


class _Order(NamedTuple):
    order_no: str
    paid_on: dt.date
    items: tuple[_Item, ...]
    coupon: int
    freight: int
    has_return_insurance: bool


_WRITTEN = (
    _Order(
        "251103884120657",
        dt.date(2025, 11, 3),
        (_Item("男款加绒冲锋衣 XL", 45900, 2), _Item("抓绒帽", 6900, 2), _Item("速干徒步裤", 18900, 1)),
        coupon=15000,
        freight=0,
        has_return_insurance=False,
    ),
    _Order(
        "251106417739028",
        dt.date(2025, 11, 6),
        (_Item("高硼硅玻璃冷水壶", 8900, 2), _Item("双层隔热杯", 4590, 6), _Item("竹制托盘", 3280, 1)),
        coupon=4000,
        freight=1500,
        has_return_insurance=True,
    ),
    _Order(
        "251109560274183",
        dt.date(2025, 11, 9),
        (_Item("头戴式降噪耳机", 89900, 1), _Item("耳机收纳盒", 5900, 1), _Item("六口氮化镓充电器", 16900, 1)),
        coupon=10000,
        freight=0,
        has_return_insurance=True,
    ),
    _Order(
        "251111092865371",
        dt.date(2025, 11, 11),
        (
            _Item(
                "自清洁扫拖机器人",
                299900,
                1,
                (("2025-11-18", 289900), ("2025-11-26", 279900), ("2025-11-27", 274700), ("2025-11-28", 282900)),
            ),
            _Item("机器人专用清洁液", 7900, 3, (("2025-11-20", 6650),)),
        ),
        coupon=30000,
        freight=0,
        has_return_insurance=False,
    ),
    _Order(
        "251112738401965",
        dt.date(2025, 11, 12),
        (
            _Item(
                "云南日晒咖啡豆 454 克",
                9680,
                5,
                (("2025-11-21", 8950), ("2025-11-28", 8560), ("2025-11-29", 8430), ("2025-11-30", 8790)),
            ),
            _Item("手冲滤纸 100 片", 2480, 2, (("2025-11-24", 2130),)),
        ),
        coupon=5000,
        freight=0,
        has_return_insurance=True,
    ),
)
_PRODUCTS = (
    *("女款轻量冲锋衣", "耐热冷水壶", "入耳式降噪耳机", "超薄扫拖机器人", "深烘咖啡豆", "羊毛围巾", "保温饭盒", "蓝牙音箱"),
    *("儿童绘本套装", "电动牙刷", "空气炸锅", "瑜伽垫", "机械键盘", "香薰蜡烛", "登山背包", "全棉四件套"),
)


def _generated_orders() -> list[_Order]:
    rng = Random(20251111)
    orders: list[_Order] = []
    for _ in range(600):
        paid_on = dt.date(2025, 10, 20) + dt.timedelta(days=rng.randrange(40))
        items: list[_Item] = []
        for name in rng.sample(_PRODUCTS, rng.randint(1, 4)):
            price = rng.randrange(1990, 69900, 10)
            changes: list[tuple[str, int]] = []
            for day in sorted(rng.sample(range(1, 30), 2)):
                changes.append((str(paid_on + dt.timedelta(days=day)), price * rng.randint(82, 104) // 100))
            items.append(_Item(name, price, rng.randint(1, 4), tuple(changes)))
        order_no = f"{paid_on:%y%m%d}{rng.randrange(10**8, 10**9)}"
        coupon = rng.choice((0, 500, 1000, 1500))
        orders.append(
            _Order(order_no, paid_on, tuple(items), coupon, rng.choice((0, 0, 800)), rng.random() < 0.5)
        )
    return orders


_ORDERS = {order.order_no: order for order in (*_WRITTEN, *_generated_orders())}


def estimate_refund(
    order_no: str,
    item: str,
    quantity: int,
    reason: str,
    condition: str = "未拆封",
    return_method: str = "自行寄回",
) -> dict[str, object]:
    """Estimate what is refunded for some pieces of one item of an order."""
    order, bought = _find(order_no, item)
    if quantity > bought.quantity:
        raise ValueError(f"“{bought.name}”只购买了 {bought.quantity} 件，不能退 {quantity} 件")
    goods = bought.unit_price * quantity
    coupon_share = _share(order.coupon, goods, _goods_total(order))
    is_seller_fault = reason in SELLER_FAULT_VOUCHERS
    depreciation = 0
    pickup_fee = 0
    freight_share = 0
    if is_seller_fault:
        freight_share = _share(order.freight, goods, _goods_total(order))
    else:
        depreciation = _share(goods - coupon_share, OPENED_PERCENT[condition], 100)
        if return_method == "上门取件" and not order.has_return_insurance:
            pickup_fee = PICKUP_FEE
    voucher = SELLER_FAULT_VOUCHERS.get(reason, 0)
    refund = goods - coupon_share - depreciation - pickup_fee + freight_share + voucher
    return {
        "order_no": order_no,
        "item": bought.name,
        "quantity": quantity,
        "goods_amount": _yuan(goods),
        "coupon_share": _yuan(coupon_share),
        "depreciation": _yuan(depreciation),
        "pickup_fee": _yuan(pickup_fee),
        "freight_refund": _yuan(freight_share),
        "compensation": _yuan(voucher),
        "refund_amount": _yuan(refund),
    }


def check_price_protection(
    order_no: str, item: str, claim_date: str, member_level: str = "普通会员"
) -> dict[str, object]:
    """Work out what a price drop pays back for all pieces of one item of an order."""
    order, bought = _find(order_no, item)
    try:
        claimed_on = dt.date.fromisoformat(claim_date)
    except ValueError:
        raise ValueError("申请日期无效，请按 YYYY-MM-DD 填写") from None
    if claimed_on < order.paid_on:
        raise ValueError(f"申请日期不能早于付款日期 {order.paid_on}")
    last_day = order.paid_on + dt.timedelta(days=PROTECTED_DAYS[member_level])
    is_protected = claimed_on <= last_day
    price = bought.unit_price
    for first_day, changed_price in bought.price_changes:
        if first_day <= str(claimed_on):
            price = changed_price
    drop = max(0, bought.unit_price - price) if is_protected else 0
    return {
        "order_no": order_no,
        "item": bought.name,
        "paid_unit_price": _yuan(bought.unit_price),
        "price_on_claim_date": _yuan(price),
        "quantity": bought.quantity,
        "protected_until": str(last_day),
        "status": "价保期内" if is_protected else "已超出价保期",
        "price_difference_refund": _yuan(drop * bought.quantity),
    }


def _find(order_no: str, item: str) -> tuple[_Order, _Item]:
    order = _ORDERS.get(order_no)
    if order is None:
        raise LookupError(f"订单“{order_no}”不存在，请核对 15 位订单号")
    matches = [i for i in order.items if item.strip() and item in i.name]
    if len(matches) != 1:
        raise LookupError(f"关键词在订单中匹配到 {len(matches)} 件商品，请换一个只匹配一件商品的关键词")
    return order, matches[0]


def _goods_total(order: _Order) -> int:
    return sum(i.unit_price * i.quantity for i in order.items)


def _share(amount: int, part: int, whole: int) -> int:
    """Apportion an amount, rounded half up to whole fen."""
    return (2 * amount * part + whole) // (2 * whole)


def _yuan(fen: int) -> str:
    return f"{fen // 100:,}.{fen % 100:02d} 元"
